// Shows the frame of the mark under the pointer or the focus, and moves between marks by arrow
// keys. Without it every mark is a link to its frame.
"use strict";
{
  const chart = document.getElementById("chart");
  const panel = document.getElementById("panel");

  const show = (mark) => {
    const frame = document.getElementById(mark.getAttribute("href").slice(1));
    panel.replaceChildren(...frame.cloneNode(true).childNodes);
    panel.hidden = false;
  };
  const hide = () => {
    panel.hidden = true;
  };
  const markAt = (target) => target.closest && target.closest("a.mark");

  const moveTo = (mark, from) => {
    from.setAttribute("tabindex", "-1");
    mark.setAttribute("tabindex", "0");
    mark.focus();
  };
  const middle = (mark) => {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  // The next mark up or down: of those in that direction, the nearest.
  const vertical = (marks, from, sign) => {
    const [x, y] = middle(from);
    let best = null;
    let least = Infinity;
    for (const mark of marks) {
      const [otherX, otherY] = middle(mark);
      const down = (otherY - y) * sign;
      const distance = down + Math.abs(otherX - x) * 4;
      if (down > 4 && distance < least) {
        best = mark;
        least = distance;
      }
    }
    return best;
  };
  const steps = {
    ArrowRight: (marks, from) => marks[marks.indexOf(from) + 1],
    ArrowLeft: (marks, from) => marks[marks.indexOf(from) - 1],
    ArrowDown: (marks, from) => vertical(marks, from, 1),
    ArrowUp: (marks, from) => vertical(marks, from, -1),
    Home: (marks) => marks[0],
    End: (marks) => marks[marks.length - 1],
  };

  if (chart) {
    const marks = [...chart.querySelectorAll("a.mark")];
    const order = new Map(marks.map((mark) => [mark, Number(mark.getAttribute("href").slice(2))]));
    // Lanes come one after the other; the arrow keys go by time.
    marks.sort((one, other) => order.get(one) - order.get(other));
    marks.forEach((mark, index) => mark.setAttribute("tabindex", index ? "-1" : "0"));
    chart.addEventListener("pointerover", (event) => {
      const mark = markAt(event.target);
      if (mark) show(mark);
    });
    chart.addEventListener("focusin", (event) => {
      const mark = markAt(event.target);
      if (mark) show(mark);
    });
    chart.addEventListener("keydown", (event) => {
      const from = markAt(event.target);
      const step = steps[event.key];
      const to = from && step && step(marks, from);
      if (to) {
        event.preventDefault();
        moveTo(to, from);
      }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
    });
  }
}

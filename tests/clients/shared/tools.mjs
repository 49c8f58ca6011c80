// Shared by the JavaScript programs of the replay: the tools, and one line of output per stream.

export { API_KEY, MODEL } from "./loop.mjs";
export const PROMPT = "Write the notes.";

// No argument is required, so that a call that lost its arguments runs and is recorded.
export const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string" }, content: { type: "string" } },
};
export const TOOLS = [
  { type: "function", name: "write_file", parameters: PARAMETERS, strict: false },
  { type: "custom", name: "run_script" },
];

/**
 * Replays every stream of the task on the command line, and prints for each what the client did.
 *
 * @param modes The ways of using the client: each takes a base URL and a function that records a
 *     call of a tool (its `call_id`, name and arguments), and returns the text.
 */
export async function replayAll(modes) {
  const { mode, urls } = JSON.parse(process.argv[2]);
  for (const [name, url] of Object.entries(urls)) {
    const report = { case: name, calls: [] };
    const record = (call_id, tool, given) => {
      report.calls.push({ call_id, name: tool, given });
    };
    try {
      report.text = await modes[mode](url, record);
    } catch (error) {
      // Some streams make a client throw; the message is part of the report.
      console.error(name, error);
      report.error = error?.message || String(error);
    }
    console.log(JSON.stringify(report));
  }
}

/**
 * Runs an output item if it is a call. As in many agents, empty arguments count as `{}`, and a call
 * whose arguments cannot be parsed does not run.
 */
export function runItem(item, record) {
  if (item.type === "custom_tool_call") record(item.call_id, item.name, item.input);
  if (item.type !== "function_call") return;
  let given;
  try {
    given = JSON.parse(item.arguments || "{}");
  } catch {
    return;
  }
  record(item.call_id, item.name, given);
}

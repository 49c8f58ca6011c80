// Drives openai-node through the tool loop.

import OpenAI from "openai";

import { API_KEY, MODEL, QUESTION, TOOL, getWeather, throughAll } from "./loop.mjs";

/** Runs the tool. */
function output(call_id, given) {
  return { type: "function_call_output", call_id, output: getWeather(JSON.parse(given)) };
}

/** Streams with `responses.stream()`, and sends its final response back with the outputs. */
async function stream(baseURL) {
  const api = new OpenAI({ baseURL, apiKey: API_KEY });
  const history = [{ role: "user", content: QUESTION }];
  for (;;) {
    const events = api.responses.stream({ model: MODEL, input: history, tools: [TOOL] });
    const response = await events.finalResponse();
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return response.output_text;
    history.push(...response.output);
    history.push(...calls.map((call) => output(call.call_id, call.arguments)));
  }
}

/** Streams with `responses.create()`, and answers the calls as they were announced. */
async function previousResponseId(baseURL) {
  const api = new OpenAI({ baseURL, apiKey: API_KEY });
  let input = [{ role: "user", content: QUESTION }];
  let previous_response_id;
  for (;;) {
    const calls = new Map();
    let text = "";
    for await (const event of await api.responses.create({
      model: MODEL,
      input,
      tools: [TOOL],
      stream: true,
      previous_response_id,
    })) {
      if (event.type === "response.created") {
        previous_response_id = event.response.id;
      } else if (event.type === "response.output_item.added" && event.item.type === "function_call") {
        calls.set(event.output_index, { call_id: event.item.call_id, given: "" });
      } else if (event.type === "response.function_call_arguments.delta") {
        calls.get(event.output_index).given += event.delta;
      } else if (event.type === "response.output_text.delta") {
        text += event.delta;
      }
    }
    if (calls.size === 0) return text;
    input = [...calls.values()].map(({ call_id, given }) => output(call_id, given));
  }
}

await throughAll({ stream, previous_response_id: previousResponseId });

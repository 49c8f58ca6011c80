// Replays event streams to openai-node.

import OpenAI from "openai";

import { API_KEY, MODEL, PROMPT, TOOLS, replayAll, runItem } from "./tools.mjs";

const REQUEST = { model: MODEL, input: PROMPT, tools: TOOLS };

function responses(baseURL) {
  return new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0 }).responses;
}

/** Runs the calls of the final response. */
async function final(baseURL, record) {
  const response = await responses(baseURL).stream(REQUEST).finalResponse();
  // It also resolves for a response that failed, or whose stream was cut off.
  if (!["completed", "incomplete"].includes(response.status)) throw new Error(response.status);
  response.output.forEach((item) => runItem(item, record));
  return response.output_text;
}

/** Runs each call when its item is done. */
async function follow(events, record) {
  let text = "";
  for await (const event of events) {
    if (event.type === "response.output_item.done") runItem(event.item, record);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  return text;
}

await replayAll({
  final,
  items: (baseURL, record) => follow(responses(baseURL).stream(REQUEST), record),
  create: async (baseURL, record) =>
    follow(await responses(baseURL).create({ ...REQUEST, stream: true }), record),
});

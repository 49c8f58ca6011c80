// Replays event streams to the AI SDK.

import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { streamText, tool } from "ai";
import { z } from "zod";

import { API_KEY, MODEL, PROMPT, replayAll } from "./tools.mjs";

/** Lets the SDK run the tools of one response. */
async function agent(model, record, tools = {}) {
  const result = streamText({
    model,
    prompt: PROMPT,
    tools: {
      write_file: tool({
        // No argument is required, so that a call that lost its arguments runs and is recorded.
        inputSchema: z.looseObject({ path: z.string().optional(), content: z.string().optional() }),
        execute: (given, { toolCallId }) => record(toolCallId, "write_file", given),
      }),
      ...tools,
    },
    maxRetries: 0,
    onError: () => {},
  });
  let text = "";
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") text += part.text;
    if (part.type === "error") throw part.error;
  }
  return text;
}

await replayAll({
  openai: (baseURL, record) => {
    const openai = createOpenAI({ baseURL, apiKey: API_KEY });
    const execute = (given, { toolCallId }) => record(toolCallId, "run_script", given);
    const run_script = openai.tools.customTool({ execute });
    return agent(openai.responses(MODEL), record, { run_script });
  },
  "open-responses": (baseURL, record) => {
    const url = `${baseURL}/responses`;
    return agent(createOpenResponses({ name: "vllm", url, apiKey: API_KEY })(MODEL), record);
  },
});

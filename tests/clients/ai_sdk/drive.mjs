// Drives the AI SDK through the tool loop.

import { createOpenAI } from "@ai-sdk/openai";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { API_KEY, DESCRIPTION, MODEL, QUESTION, getWeather, throughAll } from "./loop.mjs";

const get_weather = tool({
  description: DESCRIPTION,
  inputSchema: z.object({ city: z.string() }),
  execute: getWeather,
});

/** Lets the SDK run the loop. What goes wrong in a stream comes as one of its parts. */
async function agent(baseURL, providerOptions) {
  const result = streamText({
    model: createOpenAI({ baseURL, apiKey: API_KEY }).responses(MODEL),
    prompt: QUESTION,
    tools: { get_weather },
    stopWhen: stepCountIs(4),
    maxRetries: 0,
    providerOptions,
  });
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
  }
  return result.text;
}

await throughAll({
  default: (baseURL) => agent(baseURL),
  "store-false": (baseURL) => agent(baseURL, { openai: { store: false } }),
});

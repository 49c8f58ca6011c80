// Drives LangChain's OpenAI package for JavaScript through the tool loop.

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

import { API_KEY, DESCRIPTION, MODEL, QUESTION, getWeather, throughAll } from "./loop.mjs";

const weather = tool(getWeather, {
  name: "get_weather",
  description: DESCRIPTION,
  schema: z.object({ city: z.string() }),
});

async function stream(baseURL) {
  const options = { model: MODEL, apiKey: API_KEY, useResponsesApi: true, maxRetries: 0 };
  const model = new ChatOpenAI({ ...options, configuration: { baseURL } }).bindTools([weather]);
  const messages = [new HumanMessage(QUESTION)];
  for (;;) {
    let message;
    for await (const chunk of await model.stream(messages)) {
      message = message === undefined ? chunk : message.concat(chunk);
    }
    if (!message.tool_calls?.length) return message.text;
    messages.push(message);
    for (const { id, args } of message.tool_calls) {
      messages.push(new ToolMessage({ tool_call_id: id, content: getWeather(args) }));
    }
  }
}

await throughAll({ stream });

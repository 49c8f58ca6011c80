// Drives the OpenAI Agents SDK for JavaScript through the tool loop.

import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";

import { API_KEY, DESCRIPTION, MODEL, QUESTION, getWeather, throughAll } from "./loop.mjs";

const weather = tool({
  name: "get_weather",
  description: DESCRIPTION,
  parameters: z.object({ city: z.string() }),
  execute: getWeather,
});

/** Runs an agent; the ids of calls must be the same in raw events and in those of the SDK. */
async function run(modelProvider) {
  const agent = new Agent({ name: "weather", model: MODEL, tools: [weather] });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const result = await runner.run(agent, QUESTION, { stream: true });
  const ids = { announced: [], tool_called: [], tool_output: [] };
  for await (const event of result) {
    if (event.type === "run_item_stream_event") {
      ids[event.name]?.push(event.item.rawItem.callId);
    } else if (event.type === "raw_model_stream_event" && event.data.type === "model") {
      const { type, item } = event.data.event;
      if (type === "response.output_item.added" && item.type === "function_call") {
        ids.announced.push(item.call_id);
      }
    }
  }
  await result.completed;
  const announced = ids.announced.join(" ");
  for (const [name, called] of Object.entries(ids)) {
    if (called.join(" ") !== announced) {
      throw new Error(
        `the call_id of ${name}, ${called.join(" ")}, is not that of the raw event, ${announced}`,
      );
    }
  }
  return result.finalOutput;
}

/** Leaves out the details of usage, which vLLM has as arrays where the SDK takes numbers only. */
function withoutDetails(model) {
  async function* getStreamedResponse(request) {
    for await (const event of model.getStreamedResponse(request)) {
      if (event.type === "response_done") {
        const { usage } = event.response;
        for (const counted of [usage, ...usage.requestUsageEntries]) {
          counted.inputTokensDetails = {};
          counted.outputTokensDetails = {};
        }
      }
      yield event;
    }
  }
  return { getResponse: (request) => model.getResponse(request), getStreamedResponse };
}

function asItIs(baseURL) {
  return run(new OpenAIProvider({ baseURL, apiKey: API_KEY, useResponses: true }));
}

function totalsOnly(baseURL) {
  const provider = new OpenAIProvider({ baseURL, apiKey: API_KEY, useResponses: true });
  return run({ getModel: async (name) => withoutDetails(await provider.getModel(name)) });
}

await throughAll({ default: asItIs, "own-model": totalsOnly });

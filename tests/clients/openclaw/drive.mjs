// Drives OpenClaw's own transport, the package that its application talks to models with.

import { createLlmRuntime } from "@openclaw/ai";
import { registerBuiltInApiProviders } from "@openclaw/ai/providers";

import { API_KEY, DESCRIPTION, MODEL, PARAMETERS, QUESTION, getWeather, throughAll } from "./loop.mjs";

const runtime = createLlmRuntime();
registerBuiltInApiProviders(runtime.registry);

const TOOLS = [{ name: "get_weather", description: DESCRIPTION, parameters: PARAMETERS }];

/** Describes the model as a user's configuration does. */
function model(baseUrl) {
  return {
    id: MODEL,
    name: MODEL,
    api: "openai-responses",
    provider: "vllm",
    baseUrl,
    reasoning: true,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 60000,
    maxTokens: 400,
  };
}

/** Asks for one message. A stream that the transport refuses ends with a message that says why. */
async function ask(baseUrl, messages) {
  const context = { systemPrompt: "Be brief.", messages, tools: TOOLS };
  const options = { apiKey: API_KEY, reasoningEffort: "medium" };
  const message = await runtime.stream(model(baseUrl), context, options).result();
  if (message.stopReason === "error") {
    const code = message.errorCode ? `${message.errorCode}: ` : "";
    throw new Error(`${code}${message.errorMessage}`);
  }
  return message;
}

async function agent(baseUrl) {
  const messages = [{ role: "user", content: QUESTION, timestamp: Date.now() }];
  for (;;) {
    const message = await ask(baseUrl, messages);
    const of = (type) => message.content.filter((block) => block.type === type);
    if (message.stopReason !== "toolUse") return of("text").map((block) => block.text).join("");
    messages.push(message);
    for (const call of of("toolCall")) {
      messages.push({
        role: "toolResult",
        toolCallId: call.id,
        toolName: call.name,
        content: [{ type: "text", text: getWeather(call.arguments) }],
        isError: false,
        timestamp: Date.now(),
      });
    }
  }
}

await throughAll({ transport: agent });

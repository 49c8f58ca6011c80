// Drives the OpenClaw CLI: one `openclaw agent exec` a case.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { API_KEY, MODEL, QUESTION, throughAll } from "./loop.mjs";

const OPENCLAW = join(import.meta.dirname, "node_modules", "openclaw", "openclaw.mjs");

/** Returns a configuration: the provider, and nothing that starts of itself or asks elsewhere. */
function config(baseUrl) {
  const model = {
    id: MODEL,
    name: MODEL,
    reasoning: true,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 60000,
    maxTokens: 400,
  };
  const vllm = { baseUrl, apiKey: API_KEY, api: "openai-responses", models: [model] };
  return {
    models: { providers: { vllm } },
    plugins: { enabled: false },
    telemetry: { enabled: false },
    tools: { allow: ["exec"] },
    update: { checkOnStart: false },
  };
}

/** Runs one turn of its agent in a home of its own; it prints one JSON document about it. */
async function exec(baseUrl) {
  const home = mkdtempSync(join(process.cwd(), "openclaw-"));
  const file = join(home, "openclaw.json");
  const folder = join(home, "work");
  mkdirSync(folder);
  writeFileSync(file, JSON.stringify(config(baseUrl)));
  const options = ["--config", file, "--cwd", folder, "--model", `vllm/${MODEL}`, "--json"];
  const child = spawn(process.execPath, [OPENCLAW, "agent", "exec", QUESTION, ...options], {
    cwd: folder,
    // Without it OpenClaw starts itself once more, in a session that outlives a kill of this one.
    env: { ...process.env, HOME: home, OPENCLAW_NO_RESPAWN: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  for await (const chunk of child.stdout) output += chunk;
  console.error(output);
  const result = JSON.parse(output);
  if (!result.ok) throw new Error(result.error.message);
  return result.final;
}

await throughAll({ exec });

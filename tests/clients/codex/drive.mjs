// Drives the Codex CLI: one `codex exec` a case.

import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { API_KEY, MODEL, QUESTION, throughAll } from "./loop.mjs";

const CODEX = createRequire(import.meta.url).resolve("@openai/codex/bin/codex.js");

/** Returns a configuration: the provider, and nothing that asks a person or another server. */
function config(baseUrl) {
  return `
model = "${MODEL}"
model_provider = "vllm"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
check_for_update_on_startup = false

[agents]
enabled = false

[analytics]
enabled = false

[model_providers.vllm]
name = "vLLM"
base_url = "${baseUrl}"
env_key = "VLLM_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}

/** Runs Codex in a home of its own; it prints what happens as lines of JSON. */
async function exec(baseUrl) {
  const home = mkdtempSync(join(process.cwd(), "codex-"));
  writeFileSync(join(home, "config.toml"), config(baseUrl));
  const command = [CODEX, "exec", "--json", "--skip-git-repo-check", "--ephemeral", QUESTION];
  const child = spawn(process.execPath, command, {
    cwd: home,
    env: { ...process.env, HOME: home, CODEX_HOME: home, VLLM_API_KEY: API_KEY },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  for await (const chunk of child.stdout) output += chunk;
  console.error(output);
  const events = output.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const failed = events.find((event) => event.type === "turn.failed");
  if (failed) throw new Error(failed.error.message);
  const messages = events.filter((event) => event.item?.type === "agent_message");
  return messages.at(-1)?.item.text;
}

await throughAll({ exec });

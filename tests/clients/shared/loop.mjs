// What the drivers of JavaScript clients have in common: the task, the tool, and a line a case.

export const QUESTION = "What is the weather in Paris?";
export const MODEL = "m";
export const API_KEY = "x";
export const DESCRIPTION = "The weather in a city.";
export const PARAMETERS = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
export const TOOL = {
  type: "function",
  name: "get_weather",
  description: DESCRIPTION,
  parameters: PARAMETERS,
  strict: false,
};

/** The tool. */
export function getWeather({ city }) {
  console.error(`get_weather(${JSON.stringify(city)})`);
  return "sunny";
}

/**
 * Goes through the cases of the task on the command line, and says of each how it ended.
 *
 * @param modes The ways of using the client: from a base URL to the final text.
 */
export async function throughAll(modes) {
  const { mode, urls } = JSON.parse(process.argv[2]);
  for (const [name, url] of Object.entries(urls)) {
    let said;
    try {
      said = { text: await modes[mode](url) };
    } catch (error) {
      // Whatever a client throws is what it says.
      console.error(error);
      said = { error: error?.message || String(error) };
    }
    console.log(JSON.stringify({ case: name, ...said }));
  }
}

import type { IncomingMessage } from "node:http";
import { boundedText } from "../lib/bounded-text.ts";

const LARGEST_BODY = 64 * 1024;

/** Reads a command's body. Null if it is larger than 64 KiB. */
export const readText = async (request: IncomingMessage): Promise<string | null> => {
  const text = await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY);
  request.resume();
  return text;
};

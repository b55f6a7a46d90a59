import type { IncomingMessage } from "node:http";
import { boundedText, parseJson } from "../../lib/bounded-text.ts";

const LARGEST_BODY = 1024 * 1024;

/** Undefined: the body is too large, or not JSON. */
export const readJson = async (request: IncomingMessage): Promise<unknown> =>
  parseJson(await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY));

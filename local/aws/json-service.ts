import { parseJson } from "../../lib/bounded-text.ts";
import { answer, pathOf, type Mount } from "../../sandbox/mount.ts";
import type { Answer } from "../../sandbox/routes.ts";
import { readText } from "../server.ts";

/** @param accessKey of the request's signature; empty: it is not signed */
type Operation = (body: unknown, accessKey: string) => Answer;

export const refused = (__type: string, Message: string): Answer => ({
  status: 400,
  body: { __type, Message },
});

/** An AWS service on the path of AWS's own: it takes JSON, and `X-Amz-Target: <service>.<operation>`. */
export const createJsonService = (
  service: string,
  operations: Readonly<Record<string, Operation>>,
): Mount => {
  const known = new Map(Object.entries(operations));
  return async (request, response) => {
    const [asked, operation = ""] = String(request.headers["x-amz-target"]).split(".", 2);
    if (request.method !== "POST" || pathOf(request) !== "/" || asked !== service) return false;
    const body = parseJson(await readText(request));
    const accessKey = /Credential=([^/]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const result = known.get(operation)?.(body, accessKey) ?? refused("UnknownOperationException", operation);
    answer(response, result.status, "application/x-amz-json-1.1", JSON.stringify(result.body));
    return true;
  };
};

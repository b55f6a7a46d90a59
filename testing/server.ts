import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { endpoints, type Endpoint, type EndpointName } from "../lib/contract/endpoints.ts";
import { close, listen, readText } from "../local/server.ts";
import { answer, pathOf, type Mount } from "../sandbox/mount.ts";
import { apiGatewayEvent } from "./event.ts";
import type { invokeEndpoint } from "./calling.ts";

/** The endpoint that a store notifies. */
const notifiedAt = (path: string): EndpointName | undefined =>
  (Object.entries(endpoints) as [EndpointName, Endpoint][]).find(
    ([, { path: own, method, scope }]) => own === path && method === "POST" && scope === null,
  )?.[0];

/** Receives the stores' notifications, each with its endpoint's handler. */
const answerNotification =
  (invoke: typeof invokeEndpoint): Mount =>
  async (request, response) => {
    const name = notifiedAt(pathOf(request));
    if (name === undefined || request.method !== "POST") return false;
    const body = await readText(request);
    const { authorization } = request.headers;
    const event = apiGatewayEvent(name, {
      ...(body !== null && { body }),
      ...(authorization !== undefined && { headers: { Authorization: authorization } }),
    });
    const result = await invoke(name, event);
    answer(response, result.statusCode, "application/json", result.body);
    return true;
  };

/**
 * A server on a free port of 127.0.0.1, for what the functions ask the stores and what the stores notify.
 *
 * @param invoke takes the stores' notifications
 */
export const startTestServer = async (invoke: typeof invokeEndpoint) => {
  const serving: Mount[] = [answerNotification(invoke)];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for (const mount of serving) if (await mount(request, response)) return;
    answer(response, 404, "text/plain", "Nothing is here.");
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else answer(response, 500, "text/plain", String(error));
    });
  });
  const port = await listen(server, 0);
  return {
    address: `http://127.0.0.1:${port}`,
    /** Serves mounts from now on. */
    serve: (mounts: readonly Mount[]): void => void serving.push(...mounts),
    stop: async (): Promise<void> => close(server),
  };
};

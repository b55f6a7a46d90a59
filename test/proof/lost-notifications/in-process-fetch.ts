import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Mount } from "../../../sandbox/routes.ts";

/** A response that is kept instead of sent. */
class KeptResponse extends ServerResponse {
  readonly kept = Promise.withResolvers<Response>();
  readonly #head: { status: number; readonly headers: Headers } = { status: 200, headers: new Headers() };

  override writeHead(status: number, ...parts: readonly unknown[]): this {
    this.#head.status = status;
    for (const headers of parts)
      if (typeof headers === "object" && headers !== null)
        for (const [name, value] of Object.entries(headers)) this.#head.headers.set(name, String(value));
    return this;
  }

  override end(...parts: readonly unknown[]): this {
    const [body] = parts;
    const text = typeof body === "string" || Buffer.isBuffer(body) ? body.toString() : null;
    this.kept.resolve(new Response(text, this.#head));
    return this;
  }
}

/** A `fetch` that a mount answers in this process. No connection is opened. */
export const fetchFrom =
  (mount: Mount): typeof fetch =>
  async (input, init) => {
    const asked = new Request(input, init);
    const { pathname, search } = new URL(asked.url);
    const request = new IncomingMessage(new Socket());
    request.method = asked.method;
    request.url = pathname + search;
    request.headers = Object.fromEntries(asked.headers);
    request.push(await asked.text());
    request.push(null);
    const response = new KeptResponse(request);
    if (!(await mount(request, response))) response.writeHead(404).end();
    return response.kept.promise;
  };

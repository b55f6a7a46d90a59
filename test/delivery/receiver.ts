import { createServer } from "node:http";
import { close, listen } from "../../local/server.ts";

/** A message as a receiver got it. */
export interface Got {
  readonly identifier: string;
  readonly account: string;
  readonly version: number;
}

/** A webhook on this machine that keeps what it takes. */
export interface Receiver {
  readonly url: string;
  /** What it took: the message, its body, and the request's own bytes and type. */
  readonly got: Got[];
  readonly bodies: unknown[];
  readonly raw: { readonly body: Buffer; readonly contentType: string | undefined }[];
  attempts: number;
  /** Most requests that were open at once. */
  most: number;
  /** Status of the next answers, null for none; a test may set another. */
  answer: (got: Got) => number | null | Promise<number>;
  close(): Promise<void>;
}

export const startReceiver = async (): Promise<Receiver> => {
  let open = 0;
  const server = createServer((request, response) => {
    void (async () => {
      open += 1;
      receiver.attempts += 1;
      receiver.most = Math.max(receiver.most, open);
      const bytes = Buffer.concat(await request.toArray());
      const body = JSON.parse(bytes.toString("utf8"));
      const got = {
        identifier: String(request.headers["webhook-id"]),
        account: body.data?.applicationAccountIdentifier,
        version: body.data?.version,
      };
      const status = await receiver.answer(got);
      if (status === null) return;
      if (status < 300) {
        receiver.got.push(got);
        receiver.bodies.push(body);
        receiver.raw.push({ body: bytes, contentType: request.headers["content-type"] });
      }
      open -= 1;
      response.writeHead(status, status === 307 ? { location: `${receiver.url}?again` } : {}).end();
    })();
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${await listen(server, 0)}/hook`,
    got: [],
    bodies: [],
    raw: [],
    attempts: 0,
    most: 0,
    answer: () => 204,
    close: () => close(server),
  };
  return receiver;
};

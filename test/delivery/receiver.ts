import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A message as a receiver got it. */
export interface Got {
  readonly identifier: string;
  readonly account: string;
  readonly version: number;
}

/** A webhook on this machine that keeps what it got. */
export interface Receiver {
  readonly url: string;
  readonly got: Got[];
  /** Bodies of what it got. */
  readonly bodies: unknown[];
  /** Most requests that were open at once. */
  most: number;
  /** Status of the next answers; a test may set another. */
  answer: (got: Got) => number | Promise<number>;
  close(): Promise<void>;
}

export const startReceiver = async (): Promise<Receiver> => {
  let open = 0;
  const server = createServer((request, response) => {
    void (async () => {
      open += 1;
      receiver.most = Math.max(receiver.most, open);
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const { data } = body;
      const got = {
        identifier: String(request.headers["webhook-id"]),
        account: data.applicationAccountIdentifier,
        version: data.version,
      };
      const status = await receiver.answer(got);
      if (status < 300) {
        receiver.got.push(got);
        receiver.bodies.push(body);
      }
      open -= 1;
      response.writeHead(status).end();
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got: [],
    bodies: [],
    most: 0,
    answer: () => 204,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
  return receiver;
};

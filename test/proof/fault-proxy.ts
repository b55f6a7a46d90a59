import { Agent, createServer, request as send, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that came to the proxy, as DynamoDB names it: `TransactWriteItems`. */
interface ProxiedRequest {
  readonly operation: string;
}

export interface FaultProxy {
  readonly endpoint: string;
  /** Every request since the last {@link FaultProxy.plan}, in the order of arrival. */
  readonly requests: readonly ProxiedRequest[];
  /** Resets the proxy: all requests go through. */
  plan(): void;
  /**
   * Resets the proxy and halts it after request number `at`, from 1: the database executes it, and no request is answered
   * from then on. Resolves at that point.
   */
  haltAfter(at: number): Promise<void>;
  stop(): Promise<void>;
}

const WRITES: ReadonlySet<string> = new Set([
  "BatchWriteItem",
  "DeleteItem",
  "PutItem",
  "TransactWriteItems",
  "UpdateItem",
]);

export const isRead = (operation: string): boolean => !WRITES.has(operation);

const readAll = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

/**
 * A proxy in front of DynamoDB that counts requests, and stops answering after one of them.
 *
 * @param target the database's address
 */
export const startFaultProxy = async (target: string): Promise<FaultProxy> => {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let requests: ProxiedRequest[] = [];
  let halt: { readonly at: number; readonly reached: () => void } | null = null;

  const ask = ({ method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const host = `${hostname}:${port}`;
      const asked = { ...headers, host, connection: "keep-alive" };
      const outgoing = send({ hostname, port, agent, method, path: url, headers: asked }, resolve);
      outgoing.on("error", reject);
      outgoing.end(body);
    });

  const server = createServer((incoming, response) => {
    void (async () => {
      const body = await readAll(incoming);
      requests.push({ operation: String(incoming.headers["x-amz-target"]).split(".").at(-1) ?? "" });
      const number = requests.length;
      if (halt !== null && number > halt.at) return;
      const answer = await ask(incoming, body);
      const bytes = await readAll(answer);
      if (halt?.at === number) return halt.reached();
      const { connection: _, "transfer-encoding": __, ...headers } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, headers).end(bytes);
    })().catch(() => response.destroy());
  });
  // On a slow machine a connection idles for seconds: closed by the proxy as the client uses it again, it would be a fault.
  server.keepAliveTimeout = 0;
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;

  const plan = (): void => {
    requests = [];
    halt = null;
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    plan,
    haltAfter: (at) => {
      plan();
      const { promise, resolve } = Promise.withResolvers<void>();
      halt = { at, reached: resolve };
      return promise;
    },
    stop: async () => {
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
      agent.destroy();
    },
  };
};

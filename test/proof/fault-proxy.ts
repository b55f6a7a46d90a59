import { once } from "node:events";
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";

/** Faults of a request on its way to DynamoDB, or of the answer on its way back. */
export const FAULTS = [
  /** The connection breaks before the database sees the request. */
  "request-dropped",
  /** The database executes the request; the connection breaks before the answer. */
  "response-dropped",
  /** The database executes the request; the connection breaks within the answer. */
  "response-cut",
  /** The database executes the request; its answer is so late that the client has given up. */
  "response-late",
  /** The request waits at the proxy until {@link FaultProxy.release}, so it may arrive after a successful retry. */
  "request-late",
  "throttled",
  "throughput-exceeded",
  "server-error",
  "unavailable",
  /** Another transaction writes the same items. Only for transactions. */
  "transaction-conflict",
  /** The database answers with all keys unprocessed. Only for batch reads. */
  "unprocessed",
] as const;
export type Fault = (typeof FAULTS)[number];

/** Whether the fault can happen to a request of this operation. */
export const canMeet = (fault: Fault, operation: string): boolean => {
  switch (fault) {
    case "transaction-conflict":
      return operation === "TransactWriteItems";
    case "unprocessed":
      return operation === "BatchGetItem";
    default:
      return true;
  }
};

/** A request that came to the proxy. */
export interface ProxiedRequest {
  /** As DynamoDB names it: `TransactWriteItems`. */
  readonly operation: string;
  readonly bytes: number;
}

export interface FaultProxy {
  readonly endpoint: string;
  /** Every request since the last {@link FaultProxy.plan}, in the order of arrival. */
  readonly requests: readonly ProxiedRequest[];
  /** Resets the proxy. Request number `at`, from 1, meets the fault; without a fault all requests go through. */
  plan(fault?: { readonly at: number; readonly fault: Fault }): void;
  /**
   * Resets the proxy and halts it after request number `at`: the database executes it, and no request is answered from
   * then on. Resolves at that point.
   */
  haltAfter(at: number): Promise<void>;
  /** From now on all requests go through. A waiting request still waits. */
  heal(): void;
  /** Sends a waiting request to the database. Resolves when the database has answered. */
  release(): Promise<void>;
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

const TYPE_PREFIX = "com.amazonaws.dynamodb.v20120810#";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

const json = (status: number, body: object): Answer => {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    status,
    headers: { "content-type": "application/x-amz-json-1.0", "content-length": String(bytes.length) },
    body: bytes,
  };
};

const error = (status: number, type: string, more: object = {}): Answer =>
  json(status, { __type: TYPE_PREFIX + type, message: "A fault of the test.", ...more });

const transactWrite = z.object({ TransactItems: z.array(z.unknown()) });
const batchGet = z.object({ RequestItems: z.record(z.string(), z.unknown()) });

const answerOf = (fault: Fault, body: Buffer): Answer | null => {
  switch (fault) {
    case "throttled":
      return error(400, "ThrottlingException");
    case "throughput-exceeded":
      return error(400, "ProvisionedThroughputExceededException");
    case "server-error":
      return error(500, "InternalServerError");
    case "unavailable":
      return { status: 503, headers: { "content-length": "0" }, body: Buffer.alloc(0) };
    case "transaction-conflict": {
      const { TransactItems } = transactWrite.parse(JSON.parse(body.toString()));
      return error(400, "TransactionCanceledException", {
        CancellationReasons: TransactItems.map((_, index) =>
          index === 0
            ? { Code: "TransactionConflict", Message: "Transaction is ongoing for the item" }
            : { Code: "None" },
        ),
      });
    }
    case "unprocessed": {
      const { RequestItems } = batchGet.parse(JSON.parse(body.toString()));
      return json(200, { Responses: {}, UnprocessedKeys: RequestItems });
    }
    default:
      return null;
  }
};

const readAll = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

/**
 * A proxy in front of DynamoDB that applies a fault of a network or a database to one request, by its number.
 *
 * @param target the database's address
 */
export const startFaultProxy = async (target: string): Promise<FaultProxy> => {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let requests: ProxiedRequest[] = [];
  let planned: { readonly at: number; readonly fault: Fault } | null = null;
  let halt: { readonly at: number; readonly reached: () => void } | null = null;
  let held: PromiseWithResolvers<void> = Promise.withResolvers();
  const onTheirWay = new Set<Promise<unknown>>();

  const ask = (incoming: IncomingMessage, body: Buffer): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const outgoing = send(
        {
          hostname,
          port,
          agent,
          method: incoming.method,
          path: incoming.url,
          headers: { ...incoming.headers, host: `${hostname}:${port}`, connection: "keep-alive" },
        },
        (answer) => {
          readAll(answer).then(
            (bytes) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: bytes }),
            reject,
          );
        },
      );
      outgoing.on("error", reject);
      outgoing.end(body);
    });

  const reply = (response: ServerResponse, { status, headers, body }: Answer): void => {
    if (response.destroyed) return;
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && name !== "connection" && name !== "transfer-encoding")
        response.setHeader(name, value);
    response.end(body);
  };

  const meet = async (
    fault: Fault,
    incoming: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): Promise<void> => {
    const answer = answerOf(fault, body);
    if (answer !== null) return reply(response, answer);
    if (fault === "request-dropped") return void response.destroy();
    if (fault === "request-late") {
      await held.promise;
      await ask(incoming, body);
      return void response.destroy();
    }
    const done = await ask(incoming, body);
    switch (fault) {
      case "response-late":
        if (!response.destroyed) await once(response, "close");
        return;
      case "response-cut":
        response.writeHead(done.status, { "content-length": String(done.body.length + 1) });
        response.write(done.body.subarray(0, Math.floor(done.body.length / 2)), () => response.destroy());
        return;
      default:
        return void response.destroy();
    }
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const operation = String(incoming.headers["x-amz-target"]).split(".").at(-1) ?? "";
    const body = await readAll(incoming);
    requests.push({ operation, bytes: body.length });
    const number = requests.length;
    if (halt !== null && number >= halt.at) {
      if (number > halt.at) return;
      const { reached } = halt;
      await ask(incoming, body);
      return reached();
    }
    if (planned?.at === number && canMeet(planned.fault, operation))
      return meet(planned.fault, incoming, response, body);
    reply(response, await ask(incoming, body));
  };

  const server = createServer((incoming, response) => {
    const serving = serve(incoming, response).catch(() => response.destroy());
    onTheirWay.add(serving);
    void serving.finally(() => onTheirWay.delete(serving));
  });
  // On a slow machine a connection idles for seconds: closed by the proxy as the client uses it again, it would be another fault.
  server.keepAliveTimeout = 0;
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;

  const begin = (): void => {
    requests = [];
    planned = null;
    halt = null;
    held.resolve();
    held = Promise.withResolvers();
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    plan: (fault) => {
      begin();
      planned = fault ?? null;
    },
    haltAfter: (at) => {
      begin();
      const { promise, resolve } = Promise.withResolvers<void>();
      halt = { at, reached: resolve };
      return promise;
    },
    heal: () => {
      planned = null;
    },
    release: async () => {
      held.resolve();
      await Promise.all(onTheirWay);
    },
    stop: async () => {
      begin();
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
      agent.destroy();
    },
  };
};

import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { Message, SendOutcome } from "../../lib/delivery/message.ts";
import type { Instant } from "../../lib/entitlements/time.ts";

export const BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/entitlements";
export const SECRETS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
export const MESSAGE: Message = { identifier: "msg_1", type: "test", timestamp: 0, data: {} };

export const DELIVERED: SendOutcome = { outcome: "delivered" };
export const GONE: SendOutcome = { outcome: "gone" };
export const failedWith = (status: number, retryAt: Instant | null = null): SendOutcome => ({
  outcome: "failed",
  because: "status",
  status,
  retryAt,
});

/** The attempts of a process of its own, one after another. */
export interface SendingOrder {
  readonly to: "webhook" | "bus";
  readonly urls: readonly string[];
  readonly attemptMilliseconds: number;
}

/** Sends from a process of its own. */
export const sendFromProcess = async (
  order: SendingOrder,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly SendOutcome[]> => {
  const module = fileURLToPath(new URL("sending-process.ts", import.meta.url));
  const child = fork(module, { execArgv: ["--no-warnings"], env: { ...process.env, ...environment } });
  child.send(order);
  const [outcomes] = await once(child, "message");
  await once(child, "exit");
  return outcomes as readonly SendOutcome[];
};

/** Lets servers listen on this machine until their test has ended; resolves with the port. */
export const listening = () => {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await Promise.all(
      servers.splice(0).map((server) => new Promise((resolve) => void server.close(resolve))),
    );
  });
  return async (server: Server): Promise<number> => {
    servers.push(server);
    server.on("connection", (socket: Socket) => sockets.add(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
};

/** A port on which nothing listens. */
export const closedPort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
};

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { BenchService } from "./service.ts";

const SERVER = fileURLToPath(new URL("workers/serve.ts", import.meta.url));

const described = z.object({
  address: z.string(),
  tableName: z.string(),
  apiKey: z.string(),
  androidPurchaseToken: z.string(),
  account: z.string(),
  request: z.object({ signedAppTransaction: z.string(), signedTransactions: z.array(z.string()) }),
  signedNotification: z.string(),
  pushToken: z.string(),
  certificatesUrl: z.string(),
});

/** The service in its own process, apart from what measures it. */
export const serve = async (): Promise<BenchService> => {
  const server = fork(SERVER, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [message] = await once(server, "message");
  const stop = async (): Promise<void> => {
    server.send("stop");
    await once(server, "exit");
  };
  return { ...described.parse(message), stop };
};

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describedService, type BenchService } from "./service.ts";

const SERVER = fileURLToPath(new URL("workers/serve.ts", import.meta.url));

/** The service in its own process, apart from what measures it. */
export const serve = async (): Promise<BenchService> => {
  const server = fork(SERVER, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [message] = await once(server, "message");
  const stop = async (): Promise<void> => {
    server.send("stop");
    await once(server, "exit");
  };
  return { ...describedService.parse(message), stop };
};

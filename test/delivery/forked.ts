import { fork } from "node:child_process";
import { once } from "node:events";

/** Runs a module in a process of its own, sends it an order, and resolves with its one message once it has ended. */
export const askFork = async (
  module: string,
  order: object,
  environment: Readonly<Record<string, string>> = {},
): Promise<unknown> => {
  const child = fork(module, { execArgv: ["--no-warnings"], env: { ...process.env, ...environment } });
  child.send(order);
  const [report] = await once(child, "message");
  await once(child, "exit");
  return report;
};

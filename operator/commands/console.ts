import type { Command } from "commander";
import type { Connection } from "../connection.ts";
import { OperatorError } from "../operator-error.ts";
import type { Effects } from "../session.ts";

interface ConsoleWorld extends Effects {
  readonly out: (text: string) => void;
  readonly untilStopped?: () => Promise<void>;
}

const readPort = (text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new OperatorError("--port must be a number up to 65535; 0 takes any free one.");
  return port;
};

/** Defines the command that serves the console. */
export const addConsoleCommand = (
  program: Command,
  world: ConsoleWorld,
  connected: (act: (connection: Connection) => Promise<void>) => Promise<void>,
  warn: (line: string) => void,
): void => {
  program
    .command("console")
    .description("serve a page on this machine: accounts and applications, and what the commands do")
    .option("--port <number>", "any free one by default", "0")
    .action(({ port }: { readonly port: string }) =>
      connected(async (connection) => {
        // Loaded only here: no other command serves or bundles anything.
        const { serveConsole } = await import("../console/serve.ts");
        const served = await serveConsole(connection, world, readPort(port), warn);
        world.out(
          `${served.address}\n\nOpen this address: it works once, for one browser. Ctrl-C ends the console.\n`,
        );
        try {
          await world.untilStopped?.();
        } finally {
          await served.stop();
        }
      }),
    );
};

import { LocalError } from "./local-error.ts";
import { greeting } from "./greeting.ts";
import { startLocalService, type LocalService } from "./local-service.ts";
import { readOptions } from "./options.ts";
import { newIdentifier } from "../sandbox/ios-store/shop/app-store.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

const starting = new AbortController();
let service: LocalService | null = null;

const stop = async (exitCode: number): Promise<void> => {
  // A second signal exits at once.
  if (starting.signal.aborted) process.exit(exitCode);
  starting.abort();
  await service?.stop();
  if (service) process.exit(exitCode);
};

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop(0));

try {
  const options = readOptions(process.argv.slice(2), process.env);
  say("Starting: DynamoDB Local, the functions' bundles, the sandbox stores …");
  const { signal } = starting;
  service = await startLocalService({ ...options, log: complain, onRequest: say, tell: say, signal });
  say(greeting(service, newIdentifier("Sandbox")));
  await service.broken;
  if (!starting.signal.aborted) {
    complain("DynamoDB Local has ended, so the service stops; start it again.");
    await stop(1);
  }
} catch (error) {
  if (starting.signal.aborted) process.exit(0);
  complain(
    error instanceof LocalError ? error.message : String(error instanceof Error ? error.stack : error),
  );
  process.exit(1);
}

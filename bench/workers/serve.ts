import { startBenchService } from "../service.ts";

/** Runs the service in its own process, apart from the load generator, until a message stops it. */
const service = await startBenchService();

process.on("message", () => void service[Symbol.asyncDispose]().then(() => process.exit(0)));
process.send?.(service);

import { startBenchService } from "../service.ts";

/** Runs the service in its own process, apart from the load generator, until a message stops it. */
const { stop, ...described } = await startBenchService();

process.on("message", () => void stop().then(() => process.exit(0)));
process.send?.(described);

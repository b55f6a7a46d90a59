import { startBenchService } from "../service.ts";

/** Runs the service in a process of its own, apart from what loads it, until it is told to stop. */
const service = await startBenchService();
const { stop, ...described } = service;

process.on("message", () => void stop().then(() => process.exit(0)));
process.send?.(described);

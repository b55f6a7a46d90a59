import type { LoadResult } from "../sections/load.ts";
import { milliseconds, percent, table, whole } from "./markdown.ts";

const MEGABYTE = 1024 * 1024;

export const loadSection = ({ seconds, rows, handlers }: LoadResult): string => `## The service under load

The local gateway with the functions of the synthesized stack, ${seconds} seconds per row. The load generator, the
gateway, the functions and DynamoDB Local share this machine's processors, so these are not the rates of a deployed
service. They show where it saturates here, and that nothing fails when it does.

${table(
  [
    "request",
    "connections",
    "per second",
    "median, ms",
    "90th percentile",
    "99th percentile",
    "requests",
    "errors",
  ],
  rows.map((row) => [
    row.request,
    row.connections,
    whole(row.perSecond),
    whole(row.latency.p50),
    whole(row.latency.p90),
    whole(row.latency.p99),
    whole(row.requests),
    row.errors,
  ]),
)}

### The functions alone

Sequential invocations in a warm process, without the gateway: time per invocation, CPU time of the function's process (all
threads, without DynamoDB Local), and its heap after garbage collection, before the first and after the last invocation.

${table(
  ["request", "invocations", "one, ms", "CPU, ms", "heap at first, MB", "heap at last, MB"],
  handlers.map((row) => [
    row.request,
    whole(row.invocations),
    milliseconds(row.milliseconds),
    milliseconds(row.cpuMilliseconds),
    ((row.memory[0] ?? 0) / MEGABYTE).toFixed(1),
    ((row.memory.at(-1) ?? 0) / MEGABYTE).toFixed(1),
  ]),
)}

Shares of the CPU time of 700 invocations and the load before them, from a sampled profile of the unminified bundle.
"Node.js itself" includes HTTP, JSON, cryptography and the compiler.

${table(
  ["request", "shares"],
  handlers.map(({ request, profile }) => [
    request,
    profile
      .slice(0, 8)
      .map(([where, part]) => `${where} ${percent(part)}`)
      .join(", "),
  ]),
)}`;

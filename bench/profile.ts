import { readFileSync } from "node:fs";
import * as z from "zod";

const profile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

/** Comment with which esbuild begins a module in a bundle that is not minified. */
const MODULE = /^ *\/\/ ((?:\.\.\/)*(?:[\w@.-]+\/)+[\w@.-]+\.\w+)$/;

const packageOf = (source: string): string => {
  const named = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
  return named ?? /^(?:\.\.\/)*((?:lib|functions)\/[\w-]+)/.exec(source)?.[1] ?? source;
};

/**
 * Attributes the time of a profile (`--cpu-prof`) to packages, the service's folders, Node.js itself and the garbage
 * collector. Idle time is left out.
 *
 * @param bundle the profiled bundle, not minified
 * @returns shares of the time, largest first
 */
export const summarize = (
  profileFile: string,
  bundle: string,
): (readonly [where: string, part: number])[] => {
  const { nodes, samples, timeDeltas } = profile.parse(JSON.parse(readFileSync(profileFile, "utf8")));
  const lines = readFileSync(bundle, "utf8").split("\n");
  const sources: string[] = [];
  let source = "this service";
  for (const line of lines) {
    source = MODULE.exec(line)?.[1] ?? source;
    sources.push(source);
  }
  const placeOf = ({
    functionName,
    url,
    lineNumber,
  }: z.infer<typeof profile>["nodes"][number]["callFrame"]): string | null => {
    if (functionName === "(idle)" || functionName === "(root)") return null;
    if (functionName === "(garbage collector)") return "garbage collector";
    if (url.endsWith(".cjs") && url.includes(bundle)) return packageOf(sources[lineNumber] ?? "");
    return "Node.js itself";
  };
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const spent = new Map<string, number>();
  let total = 0;
  for (const [index, sample] of samples.entries()) {
    const place = places.get(sample) ?? null;
    const time = timeDeltas[index] ?? 0;
    if (place === null) continue;
    spent.set(place, (spent.get(place) ?? 0) + time);
    total += time;
  }
  return [...spent].map(([place, time]) => [place, time / total] as const).sort(([, a], [, b]) => b - a);
};

import { setTimeout as sleep } from "node:timers/promises";
import {
  startTestService,
  type ApplicationOptions,
  type TestApplication,
  type TestService,
  type Answer,
} from "../../testing/support/service.ts";
import { METRICS } from "../../lib/contract/metrics.ts";

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

/** Waits for what may be written after the answer. */
const eventually = async <Found>(find: () => Found | undefined): Promise<Found> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const found = find();
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error("There is no such line.");
};

/** A line of a function's log, from either stream; null for text that Lambda itself would log. */
const parsed = (line: string): Json | null => {
  try {
    const json: unknown = JSON.parse(line.slice(line.indexOf("{")));
    return typeof json === "object" ? json : null;
  } catch {
    return null;
  }
};

/** Reads the logs of a service's functions. */
const logOf = ({ output, log, requests }: TestService) => {
  const lines = (): Json[] => [...output, ...log].map(parsed).filter((line) => line !== null);
  const metric = (name: keyof typeof METRICS): Json[] =>
    lines().filter((line) => line._aws?.CloudWatchMetrics[0].Metrics[0].Name === METRICS[name]);
  const lineWith = async (matches: (line: Json) => boolean): Promise<Json> =>
    eventually(() => lines().find(matches));
  return {
    text: (): string => [...output, ...log].join("\n"),
    lines,
    lineWith,
    /** The line that the request's function writes. */
    lineOf: async (answer: Answer): Promise<Json> => {
      const requestId = answer.headers.get("x-amzn-requestid");
      return lineWith((line) => line.requestId === requestId && "outcome" in line);
    },
    /** The last readable line of a request that matches. */
    requestWith: async (text: RegExp): Promise<string> =>
      eventually(() => requests.findLast((line) => text.test(line))),
    metric,
    /** The sum of a metric's values with these dimensions. */
    measured: (name: keyof typeof METRICS, dimensions: Record<string, string> = {}): number =>
      metric(name)
        .filter((line) => Object.entries(dimensions).every(([dimension, value]) => line[dimension] === value))
        .reduce((sum, line) => sum + line[METRICS[name]], 0),
  };
};

type ServiceLog = ReturnType<typeof logOf>;

/** Variables of the functions, and what the application has. */
interface Start {
  readonly environment?: Record<string, string>;
  readonly options?: ApplicationOptions;
}

/**
 * A service for all tests of a file, with its log and an application. They exist once the tests begin.
 *
 * @param prepare runs before the service starts, such as to start another server
 */
export const serviceForFile = (prepare: () => Start | Promise<Start> = () => ({})) => {
  const [service, app, log] = [{} as TestService, {} as TestApplication, {} as ServiceLog];
  beforeAll(async () => {
    const { environment, options } = await prepare();
    Object.assign(service, await startTestService(environment));
    Object.assign(log, logOf(service));
    Object.assign(app, await service.application(options));
  }, 90_000);
  afterAll(() => service.stop?.());
  return { service, app, log };
};

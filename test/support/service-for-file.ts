import { logOf, type ServiceLog } from "../../testing/support/service-log.ts";
import { startTestService, type TestApplication, type TestService } from "../../testing/support/service.ts";

/** Environment of the functions; made before the service starts where it names another server. */
type Environment = Record<string, string> | (() => Promise<Record<string, string>>);

/** A service for all tests of a file, with its log and an application. They stand when the tests begin. */
export const serviceForFile = (
  environment: Environment = {},
  options: Parameters<TestService["application"]>[0] = {},
) => {
  const [service, app, log] = [{} as TestService, {} as TestApplication, {} as ServiceLog];
  beforeAll(async () => {
    const started = await startTestService(
      typeof environment === "function" ? await environment() : environment,
    );
    Object.assign(service, started);
    Object.assign(log, logOf(started));
    Object.assign(app, await started.application(options));
  }, 90_000);
  afterAll(() => service.stop?.());
  return { service, app, log };
};

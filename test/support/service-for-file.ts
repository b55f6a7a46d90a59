import { logOf, type ServiceLog } from "../../testing/support/service-log.ts";
import { startTestService, type TestApplication, type TestService } from "../../testing/support/service.ts";

export type ApplicationOptions = NonNullable<Parameters<TestService["application"]>[0]>;

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

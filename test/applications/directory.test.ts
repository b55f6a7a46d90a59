import {
  createApplicationDirectory,
  type Application,
  type ApplicationDirectory,
} from "../../lib/applications/application.ts";
import { STORES } from "../../lib/contract/schemas.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { anApplication, inBothStores } from "../../testing/support/application.ts";

const A = applicationId("0198c0de-0000-7000-8000-00000000000a");
const B = applicationId("0198c0de-0000-7000-8000-00000000000b");

const having = (identifier: ApplicationId, ...names: string[]): Application =>
  anApplication({ identifier, ...inBothStores(...names) });

/** The same names are bundles and packages. */
const setUp = (applications: Application[], names: Record<string, ApplicationId> = {}) => {
  const world = {
    now: 0,
    applications: new Map(applications.map((application) => [application.identifier, application])),
    registered: new Map(Object.entries(names)),
    failure: null as Error | null,
    loads: 0,
  };
  const directory = createApplicationDirectory({
    load: async (identifier) => {
      world.loads += 1;
      if (world.failure !== null) throw world.failure;
      return world.applications.get(identifier) ?? null;
    },
    applicationOf: async ({ bundleOrPackage }) => world.registered.get(bundleOrPackage) ?? null,
    now: () => world.now,
  });
  return { world, directory };
};

test.each([
  [59_999, 1],
  [60_000, 2],
])("an application requested again after %d ms is loaded %d times", async (later, loads) => {
  const { world, directory } = setUp([having(A)]);
  await directory.byIdentifier(A);
  world.now = later;
  await directory.byIdentifier(A);
  expect(world.loads).toBe(loads);
});

test("concurrent requests share one load; one that fails is not cached", async () => {
  const { world, directory } = setUp([having(A)]);
  const requests = () => Promise.allSettled([directory.byIdentifier(A), directory.byIdentifier(A)]);
  world.failure = new Error("throttled");
  expect(await requests()).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  expect(world.loads).toBe(1);
  world.failure = null;
  const found = { status: "fulfilled", value: { identifier: A } };
  expect(await requests()).toMatchObject([found, found]);
  expect(world.loads).toBe(2);
});

test("an application that does not exist is looked up on every request", async () => {
  const { world, directory } = setUp([]);
  await expect(directory.byIdentifier(A)).resolves.toBeNull();
  world.applications.set(A, having(A));
  await expect(directory.byIdentifier(A)).resolves.toMatchObject({ identifier: A });
});

describe.each(STORES)("by %s", (store) => {
  const byName = (directory: ApplicationDirectory, bundleOrPackage: string) =>
    directory.byStore({ store, bundleOrPackage });
  test("and by identifier share one load", async () => {
    const { world, directory } = setUp([having(A, "com.a")], { "com.a": A });
    await expect(byName(directory, "com.a")).resolves.toMatchObject({ identifier: A });
    await directory.byIdentifier(A);
    expect(world.loads).toBe(1);
  });

  test("a new one of an application already loaded is found at once", async () => {
    const { world, directory } = setUp([having(A, "com.a")], { "com.a": A });
    await directory.byIdentifier(A);
    world.applications.set(A, having(A, "com.a", "com.b"));
    world.registered.set("com.b", A);
    await expect(byName(directory, "com.b")).resolves.toMatchObject({ iosStore: { length: 2 } });
  });

  test("one that moved leaves its former application once that is reloaded", async () => {
    const { world, directory } = setUp([having(A, "com.a"), having(B)], { "com.a": A });
    world.now = 1;
    await directory.byIdentifier(A);
    world.now = 50_000;
    await byName(directory, "com.a");
    world.applications.set(A, having(A)).set(B, having(B, "com.a"));
    world.registered.set("com.a", B);
    world.now = 60_001;
    await expect(byName(directory, "com.a")).resolves.toMatchObject({ identifier: B });
  });
});

test("the cache is bounded: the oldest application is evicted", async () => {
  const many = Array.from({ length: 300 }, (_, index) =>
    applicationId(`0198c0de-0000-7000-8000-${String(index).padStart(12, "0")}`),
  );
  const { world, directory } = setUp(many.map((identifier) => having(identifier)));
  for (const identifier of many) await directory.byIdentifier(identifier);
  await directory.byIdentifier(many[299] ?? A);
  expect(world.loads).toBe(300);
  await directory.byIdentifier(many[0] ?? A);
  expect(world.loads).toBe(301);
});

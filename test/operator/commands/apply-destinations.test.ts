import { parse } from "yaml";
import { byCredential, owned } from "../../../testing/support/world.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { afterFailure, HEALTHY } from "../../../lib/queues/health.ts";
import { createDeliveryQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { write } from "../../../lib/table/dynamodb/transactions.ts";
import { requestDelivery } from "../../../lib/table/telling/delivery-queue.ts";
import { GONE, pausesOf } from "../../../lib/delivery/destination-health.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, BUS, PRODUCTS, waitingAt, withOperator } from "../telling-world.ts";
import { refusedWith } from "../run-operator.ts";

const given = withOperator();

const manifest = (identifier: string, destinations: readonly object[], application: object = {}) => ({
  application: { identifier, name: "Trails", ...application },
  destinations,
  stores: { "ios-store": [{ bundleIdentifier: `com.example.${identifier}`, environments: ["sandbox"] }] },
  entitlements: { premium: {}, gold: {} },
  products: PRODUCTS,
});

describe("application apply", () => {
  test("shows what it adds, changes and removes of destinations and keepsChanges", async () => {
    const application = await anApplication(given, []);
    const added = await application.configure([BACKEND, BUS], { keepsChanges: true });
    expect(added.out).toContain(`~ application ${application.identifier}: keepsChanges null → true\n`);
    expect(added.out).toContain(`+ destination backend: url ${BACKEND.url}\n`);
    expect(added.out).toContain(`+ destination bus: eventBus ${BUS.eventBus}\n`);
    const changed = await application.configure([{ ...BACKEND, url: "https://api.example.com/other" }]);
    expect(changed.out).toContain(
      `~ destination backend: url ${BACKEND.url} → https://api.example.com/other\n`,
    );
    expect(changed.out).toContain("- destination bus\n");
    expect(changed.out).toContain("keepsChanges true → null");
  });

  test("says how the secret of an added webhook is shown, once", async () => {
    const application = await anApplication(given, [BUS]);
    const { out } = await application.configure([BUS, BACKEND]);
    expect(out).toContain(`destination rotate ${application.identifier} backend prints the secret`);
    expect(out).not.toContain(`rotate ${application.identifier} bus`);
    const moved = await application.configure([BUS, { ...BACKEND, url: "https://api.example.com/other" }]);
    expect(moved.out).not.toContain("rotate");
  });

  test("takes private and plain addresses only where DESTINATIONS names them", async () => {
    const { identifier } = await anApplication(given, []);
    const local = manifest(identifier, [{ name: "local", url: "http://127.0.0.1:4000/hook" }]);
    for (const environment of [{}, { DESTINATIONS: "" }, { DESTINATIONS: "http://127.0.0.1:4001" }]) {
      expect(await given.operator.apply(local, environment)).toMatchObject(
        refusedWith("destinations[0].url"),
      );
    }
    for (const DESTINATIONS of ["http://127.0.0.1:4000", "any"])
      expect((await given.operator.apply(local, { DESTINATIONS })).code).toBe(0);
  });

  test("drops what waits for a destination that it removes, and says so", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    for (const account of ["a", "b"])
      await world.store({ purchases: [owned(account)] }, byCredential(account));
    await application.tell();
    const message = { identifier: "request-1", type: "store.request", timestamp: NOW, data: {} };
    await write(
      given.table,
      requestDelivery(
        { application: application.identifier, destination: "backend" },
        { message, until: NOW + DAY },
      ),
    );

    const queue = createDeliveryQueue(given.table);
    const reference = { application: applicationId(application.identifier), destination: "backend" };
    await queue.take(reference, { worker: "worker", until: NOW + 1 }, NOW);
    await queue.release(reference, { worker: "worker" }, afterFailure(HEALTHY, GONE, pausesOf, NOW));
    const removed = await application.configure([BUS]);
    expect(removed.out).toContain("- destination backend\n");
    expect(removed.out).toContain("3 messages that waited for backend are dropped.\n");
    expect(await application.itemsOf("#DESTINATION#backend")).toEqual([]);
    expect(await waitingAt(given.table, application.identifier, "bus")).toEqual({ a: 1, b: 1 });
  });

  test("says how a changed catalog and a first destination are published", async () => {
    const application = await anApplication(given, []);
    const hint = `application retell ${application.identifier} delivers all now.`;
    expect((await application.configure([], { products: [] })).out).not.toContain(hint);
    expect((await application.configure([BACKEND], { products: [] })).out).toContain(hint);
    expect((await application.configure([BACKEND, BUS], { products: [] })).out).not.toContain(hint);
    expect((await application.configure([BACKEND, BUS])).out).toContain(hint);
  });
});

test("application show prints destinations and keepsChanges, so that applying them changes nothing", async () => {
  const application = await anApplication(given, []);
  await application.configure([BACKEND, BUS], { keepsChanges: true });
  const shown = await given.operator.run(["application", "show", application.identifier]);
  expect(parse(shown.out)).toMatchObject({
    application: { keepsChanges: true },
    destinations: [BACKEND, BUS],
  });
  expect((await given.operator.apply(parse(shown.out) as object)).out).toContain("no changes");
});

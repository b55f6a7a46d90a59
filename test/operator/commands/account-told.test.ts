import { isoTime } from "../../../lib/entitlements/time.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { createDeliveryQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { transact } from "../../../lib/table/dynamodb/transactions.ts";
import { deletion, update } from "../../../lib/table/dynamodb/writes.ts";
import { refunded } from "../../../testing/support/world.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { BACKEND, BUS, sold, withOperator, type ToldApplication } from "../telling-world.ts";
import { keys, partitions } from "../../../lib/table/keys.ts";

const given = withOperator();

const HOUR = 3_600_000;
const A = accountId("a");

const show = async (application: ToldApplication, moment = NOW, account: string = A) => {
  const words = ["account", "show", application.identifier, account];
  const { out } = await given.operator.run(words, {}, moment);
  const json = (await given.operator.run([...words, "--json"], {}, moment)).json();
  const lines = out.split("\n");
  const start = lines.indexOf("Told");
  const end = lines.findIndex((line, index) => index > start && !line.startsWith(" "));
  return {
    told: json["told"],
    text: start < 0 ? [] : lines.slice(start + 1, end).map((line) => line.trim()),
  };
};

/** Sets when time alone makes the account due. */
const setLook = (application: ToldApplication, lookAt: number | null) =>
  transact(given.table, [update(keys.told(application.identifier, A), { lookAt })]);

describe("account show", () => {
  test("shows the last state sent, what waits, and the next look", async () => {
    const { application, world } = await sold(given, [BACKEND, BUS]);
    await application.tell(NOW);
    await world.store({ purchases: [refunded("1")] });
    await application.tell(NOW + HOUR);
    await setLook(application, NOW + DAY);
    const queue = createDeliveryQueue(given.table);
    for (const [destination, act] of [
      ["backend", "retry"],
      ["bus", "remove"],
    ] as const) {
      const reference = { application: application.identifier, destination };
      for await (const page of queue.waiting(reference, 10))
        for (const delivery of page)
          await (act === "retry"
            ? queue.retry(reference, delivery, 3, NOW + 2 * HOUR)
            : queue.remove(reference, delivery));
    }
    const { told, text } = await show(application, NOW + HOUR);
    expect(told).toEqual({
      version: 2,
      toldAt: isoTime(NOW + HOUR),
      entitlements: [expect.objectContaining({ identifier: "premium", status: "revoked", active: false })],
      entitlementIdentifiers: ["premium"],
      lookDueSince: null,
      nextLookAt: isoTime(NOW + DAY),
      destinations: [
        {
          name: "backend",
          waiting: { version: 2, since: isoTime(NOW), tries: 3, nextTryAt: isoTime(NOW + 2 * HOUR) },
        },
        { name: "bus", waiting: null },
      ],
    });
    expect(text).toEqual([
      `version 2, ${isoTime(NOW + HOUR)}: premium revoked`,
      `backend: version 2 waits, since ${isoTime(NOW)}; 3 tries, next ${isoTime(NOW + 2 * HOUR)}`,
      "bus: nothing waits",
      `looked at again at ${isoTime(NOW + DAY)}, or when something changes it`,
    ]);
  });

  test("tells that a look is due, and that nothing was told yet", async () => {
    const { application } = await sold(given);
    const { told, text } = await show(application);
    expect(told).toMatchObject({ version: 0, toldAt: null, entitlements: null, lookDueSince: isoTime(NOW) });
    expect(text).toEqual(["nothing yet", "backend: nothing waits", `to be looked at since ${isoTime(NOW)}`]);
    // Another account's look is not its own, nor is one of later.
    expect((await show(application, NOW, "b")).told).toMatchObject({ lookDueSince: null });
    expect((await show(application, NOW - 1)).told).toMatchObject({ lookDueSince: null });
  });

  test("shows what it can of a change that has expired", async () => {
    const { application } = await sold(given);
    await application.tell();
    await setLook(application, null);
    const changes = await application.itemsOf("#CHANGES#");
    const pk = partitions.change(application.identifier, isoTime(NOW).slice(0, 10));
    await transact(
      given.table,
      changes.map(({ sk }) => deletion({ pk, sk: String(sk) })),
    );
    const { told, text } = await show(application);
    expect(told).toMatchObject({ version: 1, toldAt: null, entitlements: null });
    expect(text).toEqual([
      "version 1, more than 30 days ago: premium",
      `backend: version 1 waits, since ${isoTime(NOW)}; 0 tries, next at once`,
      "looked at again when something changes it",
    ]);
  });
});

test("account export holds what was told", async () => {
  const { application } = await sold(given);
  await application.tell();
  const exported = await given.operator.run(["account", "export", application.identifier, A]);
  expect(exported.json()).toMatchObject({
    told: { version: 1, entitlements: [{ identifier: "premium" }], destinations: [{ name: "backend" }] },
  });
});

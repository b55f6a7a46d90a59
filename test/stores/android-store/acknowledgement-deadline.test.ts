import { acknowledgementDeadline } from "../../../lib/stores/android-store/acknowledgement-deadline.ts";
import { DAY, NOW } from "../../support/android-store.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const deadline = ({
  environment = "production",
  madeAt = NOW,
  answeredAt = NOW,
  plan = null,
}: {
  environment?: "production" | "sandbox";
  madeAt?: number | null;
  answeredAt?: number;
  plan?: number | null;
} = {}) =>
  acknowledgementDeadline({
    environment,
    madeAt,
    answeredAt,
    prepaidUntil: plan === null ? null : (madeAt ?? answeredAt) + plan,
  }) - NOW;

describe("a purchase is to be acknowledged", () => {
  test.each<[rule: string, plan: number | null, within: number]>([
    ["within three days", null, 3 * DAY],
    ["of a prepaid plan of a month, within three days", 30 * DAY, 3 * DAY],
    ["of one of a week, within three days", 7 * DAY, 3 * DAY],
    ["of one a millisecond shorter, too: half of it is longer", 7 * DAY - 1, 3 * DAY],
    ["of one of six days, within three", 6 * DAY, 3 * DAY],
    ["of one a little shorter than that, within half of it", 6 * DAY - 2, 3 * DAY - 1],
    ["of one of three days, within half of it", 3 * DAY, 1.5 * DAY],
    ["of one of a day, within half of it", DAY, 12 * HOUR],
    ["of one of five minutes, within half of it", 5 * MINUTE, 2.5 * MINUTE],
    ["of one that has no length, at once", 0, 0],
    ["of one that ends before it begins, at once", -DAY, 0],
  ])("%s", (_, plan, within) => {
    expect(deadline({ plan })).toBe(within);
  });

  test.each<[rule: string, plan: number | null, within: number]>([
    ["within three minutes", null, 3 * MINUTE],
    ["of a prepaid plan of five minutes, within half of it", 5 * MINUTE, 2.5 * MINUTE],
    ["of a longer one, within three minutes", DAY, 3 * MINUTE],
  ])("a licence tester's %s", (_, plan, within) => {
    expect(deadline({ environment: "sandbox", plan })).toBe(within);
  });

  test("from when the store answered, where it says no start", () => {
    expect(deadline({ madeAt: null, answeredAt: NOW + HOUR })).toBe(HOUR + 3 * DAY);
  });
  test.each([
    ["a third is left to the last", 2 * DAY, 3 * DAY],
    ["and where the time has come", 3 * DAY, 4 * DAY],
    ["and where it is long past, as the store still waits for it", 9 * DAY, 10 * DAY],
  ])("%s", (_, answered, expected) => {
    expect(deadline({ answeredAt: NOW + answered })).toBe(expected);
  });
});

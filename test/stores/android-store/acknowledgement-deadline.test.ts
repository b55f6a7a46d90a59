import { acknowledgementDeadline } from "../../../lib/stores/android-store/acknowledgement-deadline.ts";
import { DAY, NOW } from "../../../testing/support/stores/android-store.ts";

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

describe("a purchase has to be acknowledged", () => {
  test.each<[rule: string, plan: number | null, within: number]>([
    ["within three days", null, 3 * DAY],
    ["of a prepaid plan of a week, within three days", 7 * DAY, 3 * DAY],
    ["of a prepaid plan just below six days, within half of it", 6 * DAY - 2, 3 * DAY - 1],
    ["of a prepaid plan of three days, within half of it", 3 * DAY, 1.5 * DAY],
    ["of a prepaid plan without length, at once", 0, 0],
    ["of a prepaid plan that ends before it begins, at once", -DAY, 0],
  ])("%s", (_, plan, within) => {
    expect(deadline({ plan })).toBe(within);
  });

  test.each<[rule: string, plan: number | null, within: number]>([
    ["within three minutes", null, 3 * MINUTE],
    ["of a longer prepaid plan, within three minutes", DAY, 3 * MINUTE],
  ])("by a licence tester %s", (_, plan, within) => {
    expect(deadline({ environment: "sandbox", plan })).toBe(within);
  });

  test("counted from the store's answer when it has no start", () => {
    expect(deadline({ madeAt: null, answeredAt: NOW + HOUR })).toBe(HOUR + 3 * DAY);
  });
  test.each([
    ["within a day of the answer when two of three days have passed", 2 * DAY, 3 * DAY],
    ["within a day of the answer long past the deadline, as the store still waits for it", 9 * DAY, 10 * DAY],
  ])("%s", (_, answered, expected) => {
    expect(deadline({ answeredAt: NOW + answered })).toBe(expected);
  });
});

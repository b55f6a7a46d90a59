import { createTexts } from "../../../lib/administration/import/slots.ts";

test("texts are kept by slot, in whatever order they come", () => {
  const texts = createTexts();
  const textOf = (slot: number): string => `${slot}`.padStart(1 + (slot % 200), "é");
  const slots = Array.from({ length: 20_000 }, (_, index) => (index * 7919) % 20_000);
  for (const slot of slots) texts.set(slot, textOf(slot));
  texts.set(3, "again");
  expect(slots.filter((slot) => slot !== 3 && texts.get(slot) !== textOf(slot))).toEqual([]);
  expect([texts.get(3), texts.get(20_001)]).toEqual(["again", undefined]);
});

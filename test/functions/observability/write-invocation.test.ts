import { recentShare } from "../../../functions/observability/write-invocation.ts";

test.each([
  ["the first request is all of them", [1], 1],
  ["a lone one is little of many", [...Array<number>(99).fill(0), 1], 0.01],
  [
    "a service that fails whole soon fails in a twentieth",
    [...Array<number>(200).fill(0), 1, 1, 1, 1, 1],
    0.05,
  ],
  [
    "what was before the last hundred is forgotten",
    [...Array<number>(50).fill(1), ...Array<number>(100).fill(0)],
    0,
  ],
])("the share of bad requests: %s", (_rule, requests, share) => {
  const shareOf = recentShare();
  expect(requests.map((one) => shareOf(one === 1)).at(-1)).toBe(share);
});

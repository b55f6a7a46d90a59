import { readdirSync, readFileSync } from "node:fs";

const listed = (file: string): string[] =>
  [...readFileSync(`test/mutation/${file}`, "utf8").matchAll(/^import "\.\.\/(.+)";$/gm)].map(
    ([, path = ""]) => path,
  );

const testsIn = (folder: string): string[] =>
  readdirSync(`test/${folder}`)
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => `${folder}/${file}`);

test("mutation testing runs every test of the entitlement rules", () => {
  expect(listed("entitlements.ts")).toEqual([
    ...testsIn("entitlements").sort(),
    "stores/ios-store/one-purchase.test.ts",
  ]);
});

test("mutation testing runs every test of verification, and none of the sandbox", () => {
  const tests = testsIn("stores/ios-store").filter((file) => !file.includes("/sandbox"));
  expect(listed("verification.ts")).toEqual(tests.sort());
});

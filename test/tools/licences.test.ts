import { readFileSync } from "node:fs";
import * as z from "zod";
import { CHECKED, PERMISSIVE } from "./licences.ts";

const lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      dev: z.boolean().default(false),
      link: z.boolean().default(false),
      license: z.string().default("none"),
    }),
  ),
});

test("every package that is not for development alone has a permissive licence", () => {
  const { packages } = lock.parse(JSON.parse(readFileSync("package-lock.json", "utf8")));
  const deployed = Object.entries(packages).filter(([path, { dev, link }]) => path !== "" && !dev && !link);
  expect(deployed.length).toBeGreaterThan(50);
  const others = deployed.filter(([, { license }]) => !PERMISSIVE.test(license));
  expect(others.map(([path]) => path.split("node_modules/").at(-1))).toEqual(CHECKED);
});

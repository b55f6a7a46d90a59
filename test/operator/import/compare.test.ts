import { refusedWith } from "../run-operator.ts";
import { createImportWorld } from "./world.ts";

const world = await createImportWorld({ count: 100, seed: 21 });
await world.run((await world.export("table")).paths);
afterAll(world.stop);

const compare = async (paths: readonly string[], ...words: readonly string[]) =>
  world.operate("import", "compare", ...paths, "--application", world.identifier, "--json", ...words);

const rowOf = (account: string, active: boolean): string => `${account},t-${account},${active}`;

test("an export that says what the service answers agrees, and no store is asked", async () => {
  const honest = world.persons.filter(({ lie, account }) => lie === null && account !== null);
  const { paths } = await world.export("table", honest);
  const before = [world.ios.requests(), world.secretsRead()];
  const compared = await compare(paths);
  const accounts = new Set(honest.map(({ account }) => account)).size;
  expect(compared.json()).toMatchObject({ accounts, agree: accounts });
  expect(compared.code).toBe(0);
  expect([world.ios.requests(), world.secretsRead()]).toEqual(before);
});

test("accounts that differ are listed, and end with 1 above the tolerance", async () => {
  const [active, ended] = [true, false].map((isActive) =>
    world.personWith((person) => person.lie === null && person.isActive === isActive),
  );
  const rows = [
    rowOf(active?.account ?? "", false),
    rowOf(ended?.account ?? "", true),
    rowOf("nobody", true),
    rowOf("nobody-either", false),
  ];
  const path = world.write("newer.csv", ["account,purchase_token,active", ...rows].join("\n"));
  const compared = await compare([path], "--tolerance", "74.9");
  const report = compared.json();
  expect(report).toMatchObject({ accounts: 4, agree: 1, onlyThere: 2, onlyHere: 1 });
  expect(compared.code).toBe(1);
  const listed = world.read(String(report["differences"]));
  expect(listed).toContain(`${active?.account},false,active`);
  expect(listed).toContain("nobody,true,\n");
  expect((await compare([path], "--tolerance", "75")).code).toBe(0);
});

test("an export that says nothing of access is refused", async () => {
  const { paths } = await world.export("adapty-import");
  expect(await compare(paths)).toMatchObject(refusedWith("nothing to compare"));
});

import { fakeAws, type FakeAws } from "./fake-aws.ts";

const WRITERS = ["LinkFunction1A", "SynchronizeFunction2B"];
const ALL = ["ReadFunction3C", ...WRITERS];
const [PROVISIONED, RESERVED] = WRITERS;

/** A stack of three functions, two of which write. */
const STACK = `
"cloudformation list-stack-resources") printf '%s\\n' ${ALL.map((id) => `"${id}\tdeployed-${id}"`).join(" ")} ;;
"cloudformation describe-stacks") case "$*" in *"'Writers'"*) echo ${WRITERS.join(" ")} ;; esac ;;
"cloudformation get-template") case "$*" in
  *Alias*) echo "${PROVISIONED}	5" ;;
  *"Resources.${RESERVED}.Properties.Reserved"*) echo 30 ;;
  *) echo None ;;
esac ;;
lambda*) ;;`;

let aws: FakeAws;
afterEach(() => aws.remove());

/** What a run asks of Lambda. */
const asked = async (words: string): Promise<readonly string[]> => {
  aws = await fakeAws(STACK);
  const { code, err } = await aws.bash(`scripts/functions.sh ${words}`);
  expect([err, code]).toEqual(["", 0]);
  return (await aws.calls()).filter((call) => call.startsWith("lambda ")).sort();
};

const stopped = (id: string): readonly string[] => [
  ...(id === PROVISIONED
    ? [`lambda delete-provisioned-concurrency-config --function-name deployed-${id} --qualifier ready`]
    : []),
  `lambda put-function-concurrency --function-name deployed-${id} --reserved-concurrent-executions 0`,
];

test("`stop writers` stops each function that may change the table", async () => {
  expect(await asked("stop writers stage")).toEqual(WRITERS.flatMap(stopped).sort());
});

test("`stop all` stops every function", async () => {
  expect(await asked("stop all stage")).toEqual(ALL.flatMap(stopped).sort());
});

test("`start all` gives each function the concurrency that the stack gives it", async () => {
  const started = (id: string): readonly string[] => [
    id === RESERVED
      ? `lambda put-function-concurrency --function-name deployed-${id} --reserved-concurrent-executions 30`
      : `lambda delete-function-concurrency --function-name deployed-${id}`,
    ...(id === PROVISIONED
      ? [
          `lambda put-provisioned-concurrency-config --function-name deployed-${id} --qualifier ready --provisioned-concurrent-executions 5`,
        ]
      : []),
  ];
  expect(await asked("start all stage")).toEqual(ALL.flatMap(started).sort());
});

test.each(["", "stop", "stop writers", "stop readers stage", "pause all stage", "stop all stage now"])(
  "anything else changes nothing, and shows how: %j",
  async (words) => {
    aws = await fakeAws(STACK);
    const { code, err } = await aws.bash(`scripts/functions.sh ${words}`);
    expect(code).toBe(2);
    expect(err).toContain("scripts/functions.sh stop|start writers|all <name>");
    expect(await aws.calls().catch(() => [])).not.toContainEqual(expect.stringMatching(/^lambda /));
  },
);

test("a stack that names no functions is an error", async () => {
  aws = await fakeAws(STACK.replace(WRITERS.join(" "), ""));
  expect(await aws.bash("scripts/functions.sh stop writers stage")).toEqual({
    code: 1,
    out: "",
    err: "The stack stage-service names no functions.\n",
  });
});

test("a function that cannot be stopped stops the script, which fails", async () => {
  aws = await fakeAws(STACK.replace("lambda*) ;;", `lambda*) echo "AccessDeniedException" >&2; exit 254 ;;`));
  const { code, err } = await aws.bash("scripts/functions.sh stop all stage");
  expect([code, err]).toEqual([254, "AccessDeniedException\n"]);
});

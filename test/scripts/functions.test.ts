import { fakeAwsForEachTest } from "./fake-aws.ts";

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

const aws = fakeAwsForEachTest(STACK);

/** What a run asks of Lambda. */
const asked = async (words: string): Promise<readonly string[]> => {
  const { code, err } = await aws.bash(`scripts/functions.sh ${words}`);
  expect([err, code]).toEqual(["", 0]);
  return (await aws.calls()).filter((call) => call.startsWith("lambda ")).sort();
};

const call = (action: string, id: string, options = ""): string =>
  `lambda ${action} --function-name deployed-${id}${options}`;
const READY = " --qualifier ready";

const stopped = (id: string): readonly string[] => [
  ...(id === PROVISIONED ? [call("delete-provisioned-concurrency-config", id, READY)] : []),
  call("put-function-concurrency", id, " --reserved-concurrent-executions 0"),
];
const started = (id: string): readonly string[] => {
  const provisioned = `${READY} --provisioned-concurrent-executions 5`;
  return [
    id === RESERVED
      ? call("put-function-concurrency", id, " --reserved-concurrent-executions 30")
      : call("delete-function-concurrency", id),
    ...(id === PROVISIONED ? [call("put-provisioned-concurrency-config", id, provisioned)] : []),
  ];
};

test.each([
  ["`stop writers` stops each function that may change the table", "stop writers", WRITERS, stopped],
  ["`stop all` stops every function", "stop all", ALL, stopped],
  ["`start all` gives each function the concurrency of the stack", "start all", ALL, started],
] as const)("%s", async (_, words, ids, calls) => {
  expect(await asked(`${words} stage`)).toEqual(ids.flatMap(calls).sort());
});

test.each(["", "stop", "stop writers", "stop readers stage", "pause all stage", "stop all stage now"])(
  "anything else changes nothing, and shows how: %j",
  async (words) => {
    const { code, err } = await aws.bash(`scripts/functions.sh ${words}`);
    expect(code).toBe(2);
    expect(err).toContain("scripts/functions.sh stop|start writers|all <name>");
    expect(await aws.calls()).not.toContainEqual(expect.stringMatching(/^lambda /));
  },
);

test("a stack that names no functions is an error", async () => {
  await aws.answerBy(STACK.replace(WRITERS.join(" "), ""));
  expect(await aws.bash("scripts/functions.sh stop writers stage")).toEqual({
    code: 1,
    out: "",
    err: "The stack stage-service names no functions.\n",
  });
});

test("a function that cannot be stopped stops the script, which fails", async () => {
  await aws.answerBy(STACK.replace("lambda*) ;;", `lambda*) echo "AccessDeniedException" >&2; exit 254 ;;`));
  const { code, err } = await aws.bash("scripts/functions.sh stop all stage");
  expect([code, err]).toEqual([254, "AccessDeniedException\n"]);
});

import { rmSync } from "node:fs";

const stopLocalEnds = async (): Promise<void> => {
  await globalThis.dynamoDbLocal?.stop();
  const folder = process.env["TEST_RUN_FOLDER"];
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
};

export default stopLocalEnds;

import { OperatorFailure } from "./operator.ts";
import { runSmoke, SmokeError } from "./smoke.ts";

const USAGE =
  "Usage: npm run smoke -- <address>, with the output Address of the deployment, and TABLE_NAME and the credentials of the operator.\n";

const main = async ([address, ...others]: readonly string[]): Promise<number> => {
  if (address === undefined || others.length > 0 || !/^https?:$/.test(URL.parse(address)?.protocol ?? "")) {
    process.stderr.write(USAGE);
    return 2;
  }
  try {
    process.stdout.write(`Trying ${address}\n`);
    await runSmoke(address);
    process.stdout.write("The service works.\n");
    return 0;
  } catch (error) {
    if (error instanceof SmokeError || error instanceof OperatorFailure)
      process.stderr.write(`${error.message}\n`);
    else process.stderr.write(`${address} cannot be asked: ${String(error)}\n`);
    return 1;
  }
};

process.exitCode = await main(process.argv.slice(2));

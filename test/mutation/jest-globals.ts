import { ModuleMocker } from "jest-mock";

/** What the tests of the rules import of `@jest/globals`, for the runner that is not Jest. */
export const jest = new ModuleMocker(globalThis);

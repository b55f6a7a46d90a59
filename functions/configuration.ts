/** A variable that a function cannot run without: its absence stops the function at its start. */
export const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`The environment variable ${name} is missing.`);
  return value;
};

/** A variable that changes a default; empty is absent. */
export const optionalVariable = (name: string): string | undefined => process.env[name] || undefined;

/** The moment, for all that asks for it. */
export const now = (): number => Date.now();

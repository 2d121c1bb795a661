interface TabsProps<Value extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly text: string }[];
  readonly chosen: Value;
  onChoose(value: Value): void;
}

/** One of a few options, side by side. Styled radio buttons, so that arrow keys and screen readers work. */
export function Choice<Value extends string>({ label, options, chosen, onChoose }: TabsProps<Value>) {
  return (
    <fieldset class="choice">
      <legend class="unsighted">{label}</legend>
      {options.map(({ value, text }) => (
        <label key={value} class={value === chosen ? "chosen" : undefined}>
          <input type="radio" name={label} checked={value === chosen} onChange={() => onChoose(value)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
}

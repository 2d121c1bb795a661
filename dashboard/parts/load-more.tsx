import { useEffect, useRef } from "preact/hooks";

/** Loads more when it comes near the window; also a button for users who prefer to click. */
export function LoadMore({ more, loading, onMore, text }: { readonly more: boolean; readonly loading: boolean; onMore(): void; readonly text: string }) {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const button = element.current;
    if (button === null) return;
    const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && onMore(), { rootMargin: "600px" });
    observer.observe(button);
    return () => observer.disconnect();
  });
  if (!more) return null;
  return (
    <button ref={element} type="button" class="button load-more" onClick={onMore}>
      {loading ? "Reading…" : text}
    </button>
  );
}

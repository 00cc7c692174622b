@echo off
rem tests\windows\run.cmd [DIRECTORY] - the table of hostile servers, the quoting, the terminals and the demo, on a real Windows 10 or 11.
rem
rem On Linux, scripts/test-windows puts killick.exe, the test programs, the expected table and this file into one directory,
rem build-windows/on-windows: copy that directory to the Windows machine and start run.cmd there. No other
rem program is needed. The last line of each part is the TAP plan; a line that starts with "not ok" is a failed test. In the table,
rem the numbers are the processes that are left after each ending: owner child both stdin exit. Please send the
rem output, and that of `ver`, to the issues of the project.
rem
rem Seen so far: the cmd.exe of Wine 10 runs this file, all tests pass, 5 minutes (the test windows-run). Not seen: any real
rem Windows, its cmd.exe and its console.
rem
rem Exit status: 0 all tests passed; 1 some failed; 69 the test programs are not there.
setlocal
set "here=%~1"
if "%here%"=="" set "here=%~dp0."
if not exist "%here%\table.exe" if "%~1"=="" set "here=%~dp0..\..\build-windows\on-windows"
if not exist "%here%\table.exe" (
	echo run.cmd: there is no "%here%\table.exe"; copy build-windows/on-windows from the Linux machine that built it 1>&2
	exit /b 69
)
set bad=0
ver
"%here%\table.exe" "%here%\killick.exe" --expect "%here%\table.expect" --print || set bad=1
"%here%\quoting.exe" "%here%\killick.exe" || set bad=1
"%here%\terminal.exe" "%here%\killick.exe" || set bad=1
"%here%\loops.exe" "%here%\killick.exe" --rounds 100 --servers 20 || set bad=1
"%here%\killick.exe" demo || set bad=1
if %bad%==0 (echo all tests passed) else (echo SOME TESTS FAILED)
exit /b %bad%
